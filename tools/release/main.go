package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

const usage = "usage: release image|image-fips|all -source FOLDER -output FOLDER -revision COMMIT, or release push LAYOUT REFERENCE"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run runs a command.
func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch command, args := args[0], args[1:]; command {
	case "image":
		return withOptions(args, buildImage)
	case "image-fips":
		return withOptions(args, func(s source, output string) error { return buildImage(s.withFIPS(), output) })
	case "all":
		return withOptions(args, buildAll)
	case "push":
		if len(args) != 2 {
			return errors.New(usage)
		}
		return push(args[0], args[1])
	}
	return errors.New(usage)
}

// withOptions calls build with the source and the output folder of the flags.
func withOptions(args []string, build func(source source, output string) error) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	folder := flags.String("source", "", "the `folder` of the source, with the console built")
	output := flags.String("output", "", "the `folder` for the results")
	revision := flags.String("revision", "", "the `commit` of the source")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *folder == "" || *output == "" || *revision == "" || flags.NArg() > 0 {
		return errors.New(usage)
	}
	source, err := readSource(*folder, *revision, os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*output, 0o755); err != nil {
		return err
	}
	return build(source, *output)
}
