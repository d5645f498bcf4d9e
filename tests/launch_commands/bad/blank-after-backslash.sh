sglang serve --model-path org/target \ 
  --tp-size 2
