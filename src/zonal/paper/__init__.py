"""The paper, reproduced: its experiments, and its authors' procedure."""
