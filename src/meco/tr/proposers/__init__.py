"""Who proposes the points of an iteration: the models (model_points.py), and for TR-ES an evolution strategy."""
