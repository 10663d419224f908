package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"kro.run/kro/config"
	"kro.run/kro/test/bench/audit"
	"kro.run/kro/test/bench/client"
	"kro.run/kro/test/bench/plane"
	"kro.run/kro/test/bench/subject"
)

// Users of the control plane.
const (
	userDriver     = "soak-driver"     // people: instances and definitions
	userOther      = "soak-other"      // the client that touches what is not its own
	userController = "soak-controller" // is tested
)

// soak is one run.
type soak struct {
	options options
	audit   *audit.Log
	plane   *plane.Plane
	subject *subject.Subject
	driver  *client.Client
	other   *client.Client
	memory  memory
}

func (s *soak) up(ctx context.Context, dir string) error {
	s.audit = &audit.Log{}
	var err error
	s.plane, err = plane.Start(ctx, plane.Options{
		Programs: s.options.programs, Dir: dir, Audit: s.audit, Users: []string{userDriver, userOther, userController},
	})
	if err != nil {
		return err
	}
	for user, into := range map[string]**client.Client{userDriver: &s.driver, userOther: &s.other} {
		settings := s.plane.Config(user)
		settings.Timeout = 20 * time.Second // a server that is being killed may leave a request without an answer
		if *into, err = client.New(settings); err != nil {
			return err
		}
	}
	s.subject, err = subject.New(subject.Options{
		Binary: s.options.binary, Args: s.options.args, Kubeconfig: s.plane.Kubeconfig(userController), Dir: dir,
	})
	return err
}

func (s *soak) down() {
	if s.subject != nil {
		if err := s.subject.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
		}
		if err := s.keepLog(); err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
		}
	}
	if s.plane != nil {
		s.plane.Stop()
	}
}

func (s *soak) keepLog() error {
	if s.options.logs == "" {
		return nil
	}
	data, err := os.ReadFile(s.subject.Log())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.options.logs), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.options.logs, data, 0o644)
}

// watchOver ends the run when a program dies that nobody has killed, with its last words as the cause.
func (s *soak) watchOver(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := errors.Join(s.plane.Unexpected(), s.subject.Unexpected()); err != nil {
			cancel(err)
			return
		}
		if usage, err := s.subject.Usage(); err == nil {
			s.memory.add(time.Now(), usage.Resident)
		}
	}
}

// populate installs kro's CRDs, starts the controller, and waits until the definition is served and all instances are in
// order.
func (s *soak) populate(ctx context.Context) error {
	if err := s.install(ctx); err != nil {
		return err
	}
	if _, err := s.driver.Apply(ctx, client.Path(namespaces, "", namespace), map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}); err != nil {
		return err
	}
	if err := s.grant(ctx); err != nil {
		return err
	}
	if err := s.writeSetting(ctx, "0"); err != nil {
		return err
	}
	if err := s.subject.Start(); err != nil {
		return err
	}
	if err := s.subject.Ready(ctx, time.Minute); err != nil {
		return err
	}
	if err := s.writeDefinition(ctx, 0); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.driver.Serves(within, client.Path(apps, namespace)); err != nil {
		return err
	}
	err := client.Each(ctx, s.options.n, 8, func(ctx context.Context, slot int) error {
		return insist(ctx, func() error {
			err := s.createInstance(ctx, slot, slot%2, firstSpec(slot))
			if apierrors.IsAlreadyExists(err) {
				return nil // the answer to the first request was lost
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("create instances: %w", err)
	}
	return s.settle(ctx)
}

func (s *soak) install(ctx context.Context) error {
	entries, err := config.Files.ReadDir("crd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, err := config.Files.ReadFile("crd/" + entry.Name())
		if err != nil {
			return err
		}
		var crd map[string]any
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return err
		}
		name := object(crd).meta()["name"].(string)
		if _, err := s.driver.Apply(ctx, client.Path(client.Definitions, "", name), crd); err != nil {
			return fmt.Errorf("install CRD %s: %w", name, err)
		}
	}
	return errors.Join(s.driver.Serves(ctx, client.Path(definitions, "")), s.driver.Serves(ctx, client.Path(graphs, "")))
}

func (s *soak) writeDefinition(ctx context.Context, revision int) error {
	var definition map[string]any
	if err := yaml.Unmarshal([]byte(definitionText(revision)), &definition); err != nil {
		return err
	}
	_, err := s.driver.Apply(ctx, client.Path(definitions, "", "soak"), definition)
	return err
}

func (s *soak) writeSetting(ctx context.Context, value string) error {
	_, err := s.driver.Apply(ctx, client.Path(configMaps, namespace, settingsName), map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": settingsName}, "data": map[string]any{"setting": value},
	})
	return err
}
