import { connect } from "@kubeconnect/client/node";

const address = process.env.KUBECONNECT_ADDRESS ?? "https://kubeconnect.kubeconnect.svc";
const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const client = connect(address, { tokenFile });
const { username } = await client.whoAmI();
console.log("authenticated as", username);
console.log((await client.count("pods")).total, "pods");
