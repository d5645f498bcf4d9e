sglang serve --model-type llm --model-path org/target --tp-size 2
