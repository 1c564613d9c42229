"""COBRA and SACOBRA: radial basis function surrogates of f and every constraint."""
