//go:build !pprof

package cli

// pprofAddress serves no profiles: they are for builds with the tag pprof.
func pprofAddress(string) string { return "" }
