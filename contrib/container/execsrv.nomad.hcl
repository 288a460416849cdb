# Remote mode under Nomad, as contrib/container/kubernetes.yaml.  The token is a
# variable of Nomad:
#
#	nomad var put nomad/jobs/execsrv token=...
job "execsrv" {
  type = "service"

  group "execsrv" {
    count = 1

    restart {
      attempts = 10
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    network {
      port "metrics" {
        to = 9411
      }
    }

    task "execsrv" {
      driver       = "docker"
      kill_signal  = "SIGTERM"
      kill_timeout = "15s"

      config {
        image           = "execsrv:latest"
        readonly_rootfs = true
        cap_drop        = ["all"]
        security_opt    = ["no-new-privileges"]
        mount {
          type   = "tmpfs"
          target = "/tmp"
        }
        mount {
          type   = "tmpfs"
          target = "/work"
        }
        ports = ["metrics"]
        args = [
          "-o", "MetricsListen=0.0.0.0:9411",
          "--remote", "https://registry.example.org",
          "--environment-id", "box",
        ]
      }

      template {
        data        = <<-END
          CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN={{ with nomadVar "nomad/jobs/execsrv" }}{{ .token }}{{ end }}
          END
        destination = "secrets/token.env"
        env         = true
      }

      service {
        name     = "execsrv"
        provider = "nomad"
        port     = "metrics"
        check {
          name     = "alive"
          type     = "http"
          path     = "/livez"
          interval = "20s"
          timeout  = "5s"
        }
      }

      resources {
        cpu    = 1000
        memory = 2048
      }
    }
  }
}
