"""Training of MeCO-TR's policy: rollouts with fixed controls, and a regression of what these are worth."""
