"""OUT.pt2 NAME=FILE.pt2 ...: one archive of several programs, laid out as torch.export.pt2_archive's package_pt2 does."""
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1], "w") as out:
    for argument in sys.argv[2:]:
        name, path = argument.split("=")
        source = zipfile.ZipFile(path)
        for member in source.namelist():
            parts = member.split("/")[1:]
            data = source.read(member)
            if parts[0] == "models":
                parts[-1] = name + ".json"
            elif parts[-1].endswith("_config.json"):
                parts[-1] = parts[-1].replace("model_", name + "_")
                data = data.replace(b'"path_name": "', b'"path_name": "' + name.encode() + b"_")
            elif parts[0] == "data":
                parts[-1] = name + "_" + parts[-1]
            elif argument != sys.argv[2]:
                continue
            out.writestr("/".join(["both", *parts]), data)
