"""The local engine: views maintained in process, at a cost that follows the change."""
