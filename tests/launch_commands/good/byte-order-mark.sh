sglang serve --model-path org/target
