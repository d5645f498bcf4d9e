sglang serve --model-path org/target --tp-size eight --mem-fraction-static 85%
