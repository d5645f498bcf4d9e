sglang serve --model-path <your-model> --tp-size <number of GPUs>
