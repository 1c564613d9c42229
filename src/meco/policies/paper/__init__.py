"""The paper's decision process (sections 3.1 to 3.3), as far as running a policy needs it."""
