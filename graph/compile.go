package graph

// Compile turns a source into a program, or says everything that is wrong with it. Exactly one of the results is set.
// It is deterministic and never panics.
func Compile(src Source, env Env) (*Program, Diagnostics) {
	return nil, Diagnostics{{Code: CodeInternal, Message: "not built yet"}}
}
