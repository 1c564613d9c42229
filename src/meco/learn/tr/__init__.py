"""Episodes of MeCO-TR whose theta and share are set from outside, and the quantiles that they are rewarded by."""
