package modelserver

// Len counts what can be asked.
func (t *Table) Len() int { return len(t.byKey) }
