# A client of Paho for paho.process.test.ts: port, version (3, 4, 5), user name, password. It publishes a reading and a
# message for itself with each QoS, waits until all are acknowledged and those for itself have come, and tells what it saw.
import json
import sys
import threading

import paho.mqtt.client as mqtt

port, version, username, password = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
is_five = version == 5
own = f"users/{username}/paho-{version}"
seen = {"heard": [], "acknowledged": 0}
done = threading.Event()
subscribed = threading.Event()


def make():
    options = dict(client_id=f"paho-{version}", protocol=version)
    if not is_five:
        options["clean_session"] = True
    if hasattr(mqtt, "CallbackAPIVersion"):
        return mqtt.Client(mqtt.CallbackAPIVersion.VERSION1, **options)
    return mqtt.Client(**options)


def properties(kind, **values):
    if not is_five:
        return None
    made = mqtt.Properties(kind)
    for name, value in values.items():
        setattr(made, name, value)
    return made


def look():
    if len(seen["heard"]) == 3 and seen["acknowledged"] == 6:
        done.set()


def on_message(client, userdata, message):
    told = getattr(message, "properties", None)
    seen["heard"].append(
        {
            "payload": message.payload.decode(),
            "qos": message.qos,
            "contentType": getattr(told, "ContentType", None),
            "userProperty": getattr(told, "UserProperty", None),
        }
    )
    look()


def on_publish(client, userdata, mid):
    seen["acknowledged"] += 1
    look()


client = make()
client.username_pw_set(username, password)
client.on_message = on_message
client.on_publish = on_publish
client.on_subscribe = lambda *args: subscribed.set()
client.connect("127.0.0.1", port, 60)
client.loop_start()
client.subscribe(f"{own}/#", qos=2)
if not subscribed.wait(60):
    sys.exit("no SUBACK")
from paho.mqtt.packettypes import PacketTypes

for qos in (0, 1, 2):
    client.publish("devices/well/sensors/level/value", json.dumps({"value": version * 10 + qos}), qos=qos)
    told = properties(PacketTypes.PUBLISH, ContentType="text/plain", UserProperty=[("b", "1"), ("a", "2")])
    client.publish(f"{own}/{qos}", f"hello {qos}", qos=qos, **({"properties": told} if is_five else {}))
if not done.wait(60):
    sys.exit(f"did not come: {json.dumps(seen)}")
client.disconnect()
client.loop_stop()
print(json.dumps(seen))
