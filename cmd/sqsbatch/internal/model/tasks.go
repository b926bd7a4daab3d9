package model

type tasks struct{}

func (t *tasks) count() int                         { return 0 }
func (t *tasks) assumptions() []string              { return nil }
func (s *sim) startTasks()                          {}
func (c *Containers) withDefaults(bool) *Containers { return c }
func (c *Containers) validate(*checks)              {}
