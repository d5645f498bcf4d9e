sglang serve --model-path org/target --trust-remote-code true
