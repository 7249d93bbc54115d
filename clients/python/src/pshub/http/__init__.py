"""What web applications that call tasks need."""
