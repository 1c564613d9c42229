"""Episodes of TR-ES whose theta and share are steered from outside, and the quantiles that they are rewarded by."""
