package graph

// Both kinds of document go through the same checks; what differs is how their authors call things.

// noun is what the author calls a node.
func (c *compiler) noun() string {
	if c.src.Door == GraphDoor {
		return "node"
	}
	return "resource"
}

// validating begins the messages about a document as a whole, and about the names in it.
func (c *compiler) validating() string {
	if c.src.Door == GraphDoor {
		return ""
	}
	return "failed to validate resourcegraphdefinition: "
}

// connecting begins the messages about what expressions refer to.
const connecting = "failed to build dependency graph: "

// document is what the author calls the document.
func (c *compiler) document() string {
	if c.src.Door == GraphDoor {
		return "graph"
	}
	return "definition"
}
