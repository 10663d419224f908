package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kro.run/kro/test/bench/client"
)

const (
	stillFor = 10 * time.Second // so long the controller must have written nothing
	idleFor  = 20 * time.Second
)

// settle waits until the world is as it should be and the controller has stopped writing.
func (s *soak) settle(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.settle, fmt.Errorf("this is not so after %s", s.options.settle))
	defer cancel()
	told := time.Now()
	for {
		found, err := s.look(ctx)
		if err == nil && found.none() {
			s.tell("in order after %s", time.Since(began).Round(time.Second))
			return s.still(ctx)
		}
		if time.Since(told) > 30*time.Second {
			s.tell("not yet in order: %d orphans, %d differences", len(found.orphans), len(found.differences))
			told = time.Now()
		}
		if waited := wait(ctx, 2*time.Second); waited != nil {
			return errors.Join(waited, err, errors.New(found.String()))
		}
	}
}

// still waits until the controller has written nothing for a while.
func (s *soak) still(ctx context.Context) error {
	since := time.Now()
	for {
		if err := s.plane.Barrier(ctx); err != nil {
			return err
		}
		if _, write := s.audit.Last(userController); write.After(since) {
			since = write
		}
		left := stillFor - time.Since(since)
		if left <= 0 {
			return nil
		}
		if err := wait(ctx, min(left, time.Second)); err != nil {
			return fmt.Errorf("the controller does not stop writing: %w", err)
		}
	}
}

// idle holds the end against what was promised.
func (s *soak) idle(ctx context.Context) error {
	before := s.audit.Of(userController)
	if err := wait(ctx, idleFor); err != nil {
		return err
	}
	if err := s.plane.Barrier(ctx); err != nil {
		return err
	}
	requests := s.audit.Of(userController).Since(before)
	found, err := s.look(ctx)
	if err != nil {
		return err
	}
	goroutines, err := s.subject.Gauge(ctx, "go_goroutines")
	if err != nil {
		s.tell("%v", err)
	}
	s.tell("%d orphans, %d differences; %d requests in %s of idleness; %.0f goroutines; most memory by quarters: %s",
		len(found.orphans), len(found.differences), requests.Total(), idleFor, goroutines, s.memory.quarters())
	var wrong []error
	if !found.none() {
		wrong = append(wrong, errors.New(found.String()))
	}
	if requests.Writes() > 0 {
		wrong = append(wrong, fmt.Errorf("the controller writes while nothing changes: %s", requests))
	}
	return errors.Join(append(wrong, s.memory.quarters().flat())...)
}

// look reads the world and compares it.
func (s *soak) look(ctx context.Context) (findings, error) {
	w, err := s.world(ctx)
	if err != nil {
		return findings{}, err
	}
	return compare(w), nil
}

func (s *soak) world(ctx context.Context) (world, error) {
	var w world
	var definition, settings client.Item
	if err := s.driver.Get(ctx, client.Path(definitions, "", "soak"), &definition); err != nil {
		return w, fmt.Errorf("read the definition: %w", err)
	}
	if definition.Status.State != "Active" {
		return w, fmt.Errorf("the definition is not Active: %s", definition.Troubles())
	}
	var err error
	if w.revision, err = revisionOf(definition); err != nil {
		return w, err
	}
	if err := s.driver.Get(ctx, client.Path(configMaps, namespace, settingsName), &settings); err != nil {
		return w, fmt.Errorf("read the settings: %w", err)
	}
	w.setting = settings.Data["setting"]
	var instances struct {
		Items []app `json:"items"`
	}
	if err := s.driver.Get(ctx, client.Path(apps, namespace), &instances); err != nil {
		return w, fmt.Errorf("read the instances: %w", err)
	}
	w.apps = instances.Items
	if err := s.readGraphs(ctx, &w); err != nil {
		return w, err
	}
	for kind, resource := range children {
		var list struct {
			Items []object `json:"items"`
		}
		// In all namespaces: an orphan may be anywhere.
		if err := s.driver.Get(ctx, client.Path(resource, ""), &list, "labelSelector", ownedLabel+"=true"); err != nil {
			return w, fmt.Errorf("read the objects: %w", err)
		}
		for _, o := range list.Items {
			o["kind"] = kind // lists leave it out
			w.objects = append(w.objects, o)
		}
	}
	return w, nil
}
