sglang serve --model-path org/target --cuda-graph-bs-decode 1 2 four
