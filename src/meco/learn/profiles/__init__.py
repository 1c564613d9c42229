"""Training of policies over profiles: rollouts that hold one, a regression of what each is worth, a tree that tells."""
