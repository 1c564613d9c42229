"""One module per command: configure(parser) declares its options, run(args) does it."""
