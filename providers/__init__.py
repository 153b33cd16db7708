"""Adapters: each turns one provider's replies into offers and rejections."""
