import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { parseAddress } from "../address.js";
import { KubeconnectError } from "../error.js";
import { connect, type NodeClient } from "../node.js";
import { clusterTypes } from "./clustertypes.js";
import { visible } from "./text.js";

/** The text of `--help`. */
const usage = `Usage: npx @kubeconnect/client types --address ADDRESS [OPTION]...

Writes the TypeScript types of the custom resources of a cluster. Their names are added to the types
of the client, so that client.list("widgets.example.com") has objects of type Widget. The types of the
built-in resources are in the package.

Options:
  --address ADDRESS   the service, such as localhost:8080 or https://host:port (required)
  --resource NAME     only this resource, named as in kubectl: widgets.example.com, or
                      widgets.v1beta1.example.com for another version; can be repeated
  -o, --output FILE   write to this file, such as types.d.ts (default: standard output)
  --token-file FILE   a file with the bearer token
  --ca-file FILE      a file with the certificates, in PEM, that the service's is verified with
  -h, --help          print this text
`;

/** Where a command writes. */
export interface CommandOutput {
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
}

/** An error in the arguments of a command. */
class UsageError extends Error {}

type Options = ReturnType<typeof parse>;

/** Runs the command line, and returns its exit code: 1 for a failure, 2 for invalid arguments. */
export async function run(args: readonly string[], output: CommandOutput): Promise<number> {
  try {
    await runTypes(parse(args), output);
    return 0;
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const help = isUsage ? "\nTry: npx @kubeconnect/client types --help" : "";
    output.printError(visible(`error: ${messageOf(error)}${help}\n`));
    return isUsage ? 2 : 1;
  }
}

function parse(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        address: { type: "string" },
        resource: { type: "string", multiple: true, default: [] },
        output: { type: "string", short: "o" },
        "token-file": { type: "string" },
        "ca-file": { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
    return { ...values, positionals };
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error });
  }
}

async function runTypes(options: Options, { print, printError }: CommandOutput): Promise<void> {
  if (options.help === true) {
    print(usage);
    return;
  }
  const client = await connectTo(options);
  try {
    const warn = (message: string) => {
      printError(visible(`warning: ${message}\n`));
    };
    const text = await clusterTypes(client, options.resource, warn);
    if (options.output === undefined) print(text);
    else await writeFile(options.output, text);
  } catch (error) {
    throw addressed(error, options.address ?? "");
  } finally {
    client.close();
  }
}

/** Returns a client for the service that the options name. */
async function connectTo(options: Options): Promise<NodeClient> {
  const { positionals, address, "token-file": tokenFile, "ca-file": caFile } = options;
  const [command, ...others] = positionals;
  if (command !== "types" || others.length > 0) {
    const given = positionals.join(" ");
    throw new UsageError(given === "" ? "no command" : `unknown command: ${given}`);
  }
  if (address === undefined) throw new UsageError("--address is required");
  checkAddress(address);
  const tls = caFile === undefined ? undefined : { ca: await readFile(caFile) };
  return connect(address, { tokenFile, tls });
}

function checkAddress(address: string): void {
  try {
    parseAddress(address);
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error });
  }
}

/** Adds the address to an error of the connection. */
function addressed(error: unknown, address: string): unknown {
  if (!(error instanceof KubeconnectError) || error.fromService) return error;
  return error.withMessage(`${address}: ${error.message}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
