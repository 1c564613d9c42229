"""The default method, all of it: quadratic models in a relaxed trust region, offspring beside them, a policy above."""
