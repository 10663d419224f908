package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fault is something that goes wrong for everybody, or a change that concerns everybody. It is over when it returns.
type fault struct {
	name   string
	weight int
	do     func(s *soak, ctx context.Context, random *rand.Rand) error
}

var faults = []fault{
	{"controller killed", 5, func(s *soak, ctx context.Context, random *rand.Rand) error {
		return errors.Join(s.subject.Kill(), s.restartController(ctx, random))
	}},
	{"controller stopped", 2, func(s *soak, ctx context.Context, random *rand.Rand) error {
		return errors.Join(s.subject.Stop(), s.restartController(ctx, random))
	}},
	{"API server killed", 3, func(s *soak, ctx context.Context, random *rand.Rand) error {
		return errors.Join(s.plane.StopAPIServer(true), wait(ctx, upTo(random, 5*time.Second)), s.plane.StartAPIServer(ctx))
	}},
	{"API server restarted", 1, func(s *soak, ctx context.Context, random *rand.Rand) error {
		return errors.Join(s.plane.StopAPIServer(false), s.plane.StartAPIServer(ctx))
	}},
	{"writes refused", 2, (*soak).refuse},
	{"new revision", 3, func(s *soak, ctx context.Context, random *rand.Rand) error {
		revision := 1 + random.IntN(1000)
		return insist(ctx, func() error { return s.writeDefinition(ctx, revision) })
	}},
	{"new setting", 3, func(s *soak, ctx context.Context, random *rand.Rand) error {
		setting := fmt.Sprint(random.IntN(1000))
		return insist(ctx, func() error { return s.writeSetting(ctx, setting) })
	}},
}

func (s *soak) restartController(ctx context.Context, random *rand.Rand) error {
	if err := wait(ctx, upTo(random, 5*time.Second)); err != nil {
		return err
	}
	return s.subject.Start()
}

// refuse lets an admission policy refuse the controller's writes to ConfigMaps for a while.
func (s *soak) refuse(ctx context.Context, random *rand.Rand) error {
	const name = "soak-refuse"
	api := "/apis/admissionregistration.k8s.io/v1/"
	policy := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"failurePolicy": "Fail",
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"CREATE", "UPDATE", "DELETE"},
			}}},
			"validations": []any{map[string]any{
				"expression": "request.userInfo.username != '" + userController + "' && !request.userInfo.username.startsWith('system:serviceaccount:" + namespace + ":')",
				"message":    "the soak refuses writes for a while",
			}},
		},
	}
	binding := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"policyName": name, "validationActions": []any{"Deny"}},
	}
	err := insist(ctx, func() error {
		_, err := s.driver.Apply(ctx, api+"validatingadmissionpolicies/"+name, policy)
		if err == nil {
			_, err = s.driver.Apply(ctx, api+"validatingadmissionpolicybindings/"+name, binding)
		}
		return err
	})
	remove := func(kind string) error {
		return insist(ctx, func() error {
			if err := s.driver.Delete(ctx, api+kind+"/"+name); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		})
	}
	return errors.Join(err, wait(ctx, 2*time.Second+upTo(random, 6*time.Second)),
		remove("validatingadmissionpolicybindings"), remove("validatingadmissionpolicies"))
}

// insist tries until it is done: a server that has just been started anew may have no time for a request.
func insist(ctx context.Context, do func() error) error {
	const most = 3 * time.Minute
	for deadline := time.Now().Add(most); ; {
		err := do()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not done within %s: %w", most, err)
		}
		if waited := wait(ctx, 500*time.Millisecond); waited != nil {
			return errors.Join(waited, err)
		}
	}
}

// plan is the sequence of faults that a seed gives.
type plan struct{ random *rand.Rand }

func newPlan(seed uint64) plan { return plan{random: rand.New(rand.NewPCG(seed, 1<<32))} }

func (p plan) next() fault {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	at := p.random.IntN(total)
	for _, f := range faults {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	return faults[0]
}

// faultPause is the time between two faults: about thirty in a run, but neither all the time nor never.
func faultPause(duration time.Duration) time.Duration {
	return min(max(duration/30, 5*time.Second), 90*time.Second)
}

func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(most)))
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
