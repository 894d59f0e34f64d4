import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const { objects, namespaces } = await client.list("pods").all();
if (namespaces.length > 0) console.log("the list covers only", ...namespaces);
console.log(objects.length, "pods");
