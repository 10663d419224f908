package client

import (
	"fmt"
	"strings"
)

// Item is what measurements look at of an object.
type Item struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
	} `json:"metadata"`
	Data   map[string]string `json:"data"`
	Status struct {
		State      string      `json:"state"`
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// Condition is one line of what an object says about itself.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// Is tells whether a condition is True.
func (i *Item) Is(condition string) bool {
	for _, c := range i.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}

// Troubles are the conditions that are not True, for a message about an object that does not get there.
func (i *Item) Troubles() string {
	var found []string
	for _, c := range i.Status.Conditions {
		if c.Status != "True" {
			found = append(found, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("state %q, no condition speaks of trouble", i.Status.State)
	}
	return fmt.Sprintf("state %q; %s", i.Status.State, strings.Join(found, "; "))
}
