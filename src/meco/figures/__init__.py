"""Figures as data, drawn as SVG by NumPy alone: the engine (panel, svg, figure, table) and a file for each picture."""
