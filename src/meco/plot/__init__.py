"""Figures and pages of one run, by matplotlib and jinja2."""
