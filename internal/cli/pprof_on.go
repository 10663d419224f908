//go:build pprof

package cli

// pprofAddress serves profiles where the flag says.
func pprofAddress(address string) string { return address }
