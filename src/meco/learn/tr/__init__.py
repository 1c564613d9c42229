"""Training of the default's policy: rollouts of held controls, and a regression of what they are worth."""
