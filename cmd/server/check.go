package main

import (
	"context"
	"errors"
	"io"
)

const checkCommand = "check"

func runCheck(ctx context.Context, args []string, out io.Writer) error { return errors.New("x") }
func checkUsage() string                                               { return "" }
