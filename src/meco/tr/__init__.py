"""The default method, whole: quadratic models in a relaxed trust region, offspring beside them, a policy above."""
