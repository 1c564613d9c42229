"""The protocol for learned constrained optimizers: anyone's agent, judged on problems that it has not seen."""
