docker run nvcr.io/nvidia/sglang:25.10-py3 sglang serve --model-path org/target
