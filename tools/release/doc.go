// Release builds what users install: the binaries and their archives, the container image, the
// lists of their components, the packaged chart, the manifest of the kubectl plugin and the
// checksums. It needs no container engine and no network.
//
// Everything that it writes depends on the source, the version of Go and the time of the commit
// (SOURCE_DATE_EPOCH) alone: two builds of one commit have the same bytes, in whatever folder.
//
//	release image      -source ../.. -output ../../dist -revision COMMIT
//	release image-fips -source ../.. -output ../../dist -revision COMMIT
//	release all        -source ../.. -output ../../dist -revision COMMIT
//	release push       ../../dist/image registry.example.com/kubeconnect:0.1.0
//
// The binaries and the image for FIPS 140 are built with a frozen version of Go's cryptographic module.
//
// It is a Go module of its own because it depends on Helm and on a library for images.
package main
