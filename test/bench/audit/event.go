package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Call is a kind of request: "patch configmaps", "patch apps.example.com/status", "get /openapi".
type Call struct{ Verb, Resource string }

func (c Call) String() string { return c.Verb + " " + c.Resource }

// Writes tells whether such a call changes something when it succeeds.
func (c Call) Writes() bool {
	switch c.Verb {
	case "get", "list", "watch", "head", "options":
		return false
	}
	return !strings.HasPrefix(c.Resource, "/")
}

// event is what is wanted of a line of the log (audit.k8s.io/v1 Event).
type event struct {
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Name        string `json:"name"`
		Namespace   string `json:"namespace"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	StageTimestamp time.Time `json:"stageTimestamp"`
}

func parse(line []byte) (event, error) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return event{}, fmt.Errorf("a line of the audit log is no event: %w", err)
	}
	return e, nil
}

// counted tells whether the event stands for a request that is to be counted, once.
func (e event) counted() bool {
	if e.Stage != "ResponseComplete" && e.Stage != "Panic" {
		return false
	}
	if e.ObjectRef == nil {
		return true
	}
	return e.Verb != "watch" && e.ObjectRef.Resource != "leases"
}

// call gives the kind of request. What addresses no resource goes by the first part of its path: discovery is "/apis".
func (e event) call() Call {
	if ref := e.ObjectRef; ref != nil && ref.Resource != "" {
		resource := ref.Resource
		if ref.Subresource != "" {
			resource += "/" + ref.Subresource
		}
		return Call{Verb: e.Verb, Resource: resource}
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(e.RequestURI, "/"), "?")
	first, _, _ := strings.Cut(path, "/")
	return Call{Verb: e.Verb, Resource: "/" + first}
}
