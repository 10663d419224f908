// Command build makes the localcluster binary and its symlinks. It exists to
// tell a waiting user what goes on: the first build compiles all of Kubernetes'
// servers, which takes many minutes and of which `go build` says nothing.
//
//	go run -C localcluster ./cmd/build
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	report           = 15 * time.Second
)

// names are what the binary is called by; see the package comment of main.
var names = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"}

func main() {
	if err := build(context.Background(), "bin", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "build localcluster:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context, dir string, out io.Writer) error {
	version, packages, err := survey(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Building the local control plane: etcd, kube-apiserver, kube-controller-manager and kubectl %s.\n"+
		"The first time it compiles %d packages, 10 to 20 minutes on two cores; later builds take seconds.\n", version, packages)
	begin := time.Now()
	if err := compile(ctx, filepath.Join(dir, "localcluster"), version, packages, out); err != nil {
		return err
	}
	// For make, which goes by dates: go build leaves a binary that is as it should be.
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, "localcluster"), now, now); err != nil {
		return err
	}
	for _, name := range names {
		if err := link(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "Built %s in %s.\n", filepath.Join("localcluster", dir, "localcluster"), time.Since(begin).Round(time.Second))
	return nil
}

// survey downloads the modules and gives the version of Kubernetes and the
// number of packages to build.
func survey(ctx context.Context) (version string, packages int, err error) {
	data, err := output(ctx, "list", "-m", "-f", "{{.Version}}", kubernetesModule)
	if err != nil {
		return "", 0, err
	}
	deps, err := output(ctx, "list", "-deps", ".")
	if err != nil {
		return "", 0, err
	}
	return strings.TrimSpace(data), strings.Count(deps, "\n"), nil
}

func output(ctx context.Context, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(data), nil
}

// compile runs go build, which names each package that it compiles, and shows
// how far it is.
func compile(ctx context.Context, target, version string, packages int, out io.Writer) error {
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	stamp := func(name, value string) string { return " -X k8s.io/component-base/version." + name + "=" + value }
	// Clients refuse a server whose version they cannot read.
	flags := "-s -w" + stamp("gitVersion", version) + stamp("gitMajor", major) + stamp("gitMinor", minor)

	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-o", target, "-ldflags", flags, ".")
	names, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	other := progress(names, packages, out)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, other)
	}
	return nil
}

// progress reads what go build prints until its end. It counts packages and
// gives back every other line, which are its errors.
func progress(r io.Reader, packages int, out io.Writer) (other string) {
	begin, last, done := time.Now(), time.Now(), 0
	var rest strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.ContainsAny(line, " \t:") {
			rest.WriteString(line + "\n")
			continue
		}
		done++
		if time.Since(last) > report {
			last = time.Now()
			fmt.Fprintf(out, "  %s: %d packages compiled, of at most %d\n", time.Since(begin).Round(time.Second), done, packages)
		}
	}
	return rest.String()
}

// link makes one name of the binary.
func link(name string) error {
	if target, err := os.Readlink(name); err == nil && target == "localcluster" {
		return nil
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink("localcluster", name)
}
