"""Amazon Web Services: public price files, the public spot price feed, the Spot Advisor."""
