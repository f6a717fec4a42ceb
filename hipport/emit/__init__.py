"""Write output trees atomically, manifest, merge of a person's edits."""
