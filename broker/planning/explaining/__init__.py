"""Explaining a plan: each answer rests on plans made anew with one thing changed."""
