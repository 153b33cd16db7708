"""Plans that hold in several courses of demand and prices: one program over all of them."""
