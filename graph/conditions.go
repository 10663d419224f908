package graph

import (
	"fmt"

	"kro.run/kro/cel"
)

// The author's conditions: spec.schema.status.conditions.

const buildingConditions = "failed to build instance conditions: "

// readConditionList reads the entries and checks the names in them.
func (c *compiler) readConditionList(declared any) {
	at := place{node: apiPlace, field: fieldConditions, path: "spec.schema.status.conditions"}
	extracting := buildingStatus + "failed to extract conditions block: "
	entries, isList := declared.([]any)
	if !isList {
		c.report(at, Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("%sstatus.conditions must be a list, got %s", extracting, jsonType(declared)),
			Hint:    "each entry is one ${runtime.newCondition({type: …, status: …})}"})
		return
	}
	c.status.hasConditions = true
	for i, entry := range entries {
		at.ordinal, at.path = i, joinIndex("spec.schema.status.conditions", i)
		text, isText := entry.(string)
		if !isText {
			c.report(at, Diagnostic{Code: CodeShape,
				Message: fmt.Sprintf("%sstatus.conditions[%d] must be a CEL expression string, got %s", extracting, i, jsonType(entry)),
				Hint:    "write ${runtime.newCondition({type: …, status: …})}"})
			continue
		}
		s := c.readExpression(roleCondition, at, joinIndex("conditions", i), text, fmt.Sprintf("%sstatus.conditions[%d]: ", extracting, i))
		if s == nil {
			continue
		}
		s.bad = !c.resolveCondition(s)
		c.status.conditions = append(c.status.conditions, s)
	}
}

func (c *compiler) resolveCondition(s *site) bool {
	attempt := fmt.Sprintf("%scondition %q: ", buildingConditions, s.text)
	return c.read(s, attempt) && c.checkScope(s, c.visible(0), func(problem string) string { return attempt + problem })
}

// checkConditions compiles the entries, and checks them against each other.
func (c *compiler) checkConditions() {
	entries := make([]*cel.Expression, len(c.status.conditions))
	for i, s := range c.status.conditions {
		if s.bad {
			continue
		}
		env, err := c.scopeOf(s)
		if err == nil {
			s.expr, err = env.CompileParsed(s.parsed, s.role.use())
		}
		if err != nil {
			s.bad = true
			c.reportExpression(s.at, buildingConditions, err)
		}
		entries[i] = s.expr
	}
	for _, f := range cel.ConditionFaults(entries) {
		c.report(c.status.conditions[f.Entry].at, Diagnostic{Code: CodeExpression, Message: buildingConditions + f.Message})
	}
}
