package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/localcluster/internal/objects"
	"kro.run/kro/localcluster/internal/plane"
)

const exampleWithin = 2 * time.Minute

func up() *cobra.Command {
	var p parts
	var example, kubectl string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start what is missing of a control plane, kro and an example on it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			report := reporter(out)
			fmt.Fprintf(out, "Control plane on loopback, state in %s (nodes, load balancers and volumes are simulated)\n", p.state)
			pl, err := p.open(cmd.Context(), report, false)
			if err != nil {
				return err
			}
			defer pl.Release()
			if err := p.start(cmd.Context(), pl, report); err != nil {
				return err
			}
			if example == "" {
				return nil
			}
			fmt.Fprintf(out, "Example %s\n", example)
			instance, err := apply(cmd.Context(), pl.Folder().Kubeconfig(), example, report)
			if err != nil {
				return fmt.Errorf("%w\n%s", err, deaths(p.state))
			}
			return next(cmd.Context(), out, pl.Folder(), instance, kubectl)
		},
	}
	p.flags(cmd, ".kro")
	cmd.Flags().StringVar(&example, "example", "", "folder of an example (rgd.yaml, instance.yaml) to apply and wait for")
	cmd.Flags().StringVar(&kubectl, "kubectl", "kubectl", "how the printed commands call kubectl")
	return cmd
}

// apply brings an example onto the cluster: its definition, then the instance,
// which is the last object of instance.yaml and is waited for.
func apply(ctx context.Context, kubeconfig, folder string, report plane.Report) (*unstructured.Unstructured, error) {
	cluster, err := objects.Connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	definitions, err := objects.Read(filepath.Join(folder, "rgd.yaml"))
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	for _, definition := range definitions {
		if err := cluster.Apply(ctx, definition, exampleWithin); err != nil {
			return nil, err
		}
		if _, err := cluster.Await(ctx, definition, "Ready", exampleWithin); err != nil {
			return nil, err
		}
		report("%s is Ready", objects.Name(definition))
	}
	instances, err := objects.Read(filepath.Join(folder, "instance.yaml"))
	if err != nil {
		return nil, err
	}
	if len(instances) == 0 {
		return nil, fmt.Errorf("%s/instance.yaml holds no object", folder)
	}
	var missing bool // in the end: the instance was
	for _, object := range instances {
		if missing, err = cluster.Provide(ctx, object, exampleWithin); err != nil {
			return nil, err
		}
	}
	instance, err := cluster.Await(ctx, instances[len(instances)-1], "Ready", exampleWithin)
	if err != nil {
		return nil, err
	}
	if !missing {
		report("%s is there, and Ready", objects.Name(instance))
		return instance, nil
	}
	report("%s is Ready, %.1f s after the definition was applied", objects.Name(instance), time.Since(begin).Seconds())
	return instance, nil
}

// next shows what there is now and what to do with it.
func next(ctx context.Context, out io.Writer, folder plane.Folder, instance *unstructured.Unstructured, kubectl string) error {
	cluster, err := objects.Connect(folder.Kubeconfig())
	if err != nil {
		return err
	}
	tree, err := cluster.Tree(ctx, instance)
	if err != nil {
		return err
	}
	kind := strings.ToLower(instance.GetKind())
	fmt.Fprintf(out, "\n%s\nKubeconfig: %s\nTry next:\n", tree, folder.Kubeconfig())
	fmt.Fprintf(out, "  export KUBECONFIG=%s\n", relative(folder.Kubeconfig()))
	fmt.Fprintf(out, "  %s get %s -n %s\n", kubectl, kind, instance.GetNamespace())
	fmt.Fprintf(out, "  %s patch %s %s -n %s --type merge -p '{\"spec\":{\"ingress\":{\"enabled\":true}}}'\n", kubectl, kind, instance.GetName(), instance.GetNamespace())
	fmt.Fprintf(out, "  %s get rgd,graphrevisions\n", kubectl)
	fmt.Fprintf(out, "Stop it all with: make down\n")
	return nil
}

// deaths says which components have ended, and where their logs are: the usual
// reason why an example does not become Ready.
func deaths(state string) string {
	text := "Logs are in " + filepath.Join(state, "logs") + "."
	for _, s := range plane.Status(state) {
		if s.Died {
			text += fmt.Sprintf("\n%s has ended by itself: see %s", s.Name, s.Log)
		}
	}
	return text
}

// relative shortens a path for somebody who stands in the folder of the project.
func relative(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(here, path)
	if err != nil || !filepath.IsLocal(short) {
		return path
	}
	return "$PWD/" + short
}
