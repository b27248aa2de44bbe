"""Models exactly as papers print them, beside what the derivation gives."""
