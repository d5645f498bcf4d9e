sglang serve --model-path org/target \
  --served-model-name 'target
